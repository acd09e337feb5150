-- What the commands of attnc do between reading files and writing them. The C side (main.c) calls
-- each function with plain values. A bad spec gives nil and a message; whatever raises an error is
-- attnc's own fault, or a choice in the spec that the plan or a template refuses.
local isa = require "isa"
local spec = require "spec"

local commands = {}

-- A word of the command line as it can stand in a comment and in JSON (which is UTF-8) and be
-- pasted into a shell.
local function shell_word(text)
    text = text:gsub("%c", "?"):gsub("%*/", "?/"):gsub("/%*", "/?")
    local good, bad = utf8.len(text)
    while not good do
        text = text:sub(1, bad - 1) .. "?" .. text:sub(bad + 1)
        good, bad = utf8.len(text, bad)
    end
    if text:find("^[%w%._%-%+=,:@%%]+$") then return text end
    return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- The command without directories: the same in every place that it is run from.
local function command_line(options)
    local words = { "attnc", shell_word(options.file:match("[^/]*$")) }
    if options.isa then
        words[#words + 1] = "--isa " .. shell_word(options.isa == "native"
            and table.concat(spec.native(), ",") or options.isa)
    end
    local sets, last = {}, {} -- the last one of each path counts
    for index, set in ipairs(options.sets) do
        local text, path = spec.normal_set(set)
        sets[index], last[path] = { text = text, path = path }, index
    end
    for index, set in ipairs(sets) do
        if last[set.path] == index then
            words[#words + 1] = "--set " .. shell_word(set.text)
        end
    end
    if options.single_file then words[#words + 1] = "--single-file" end
    return table.concat(words, " ")
end

-- options = {file=, text=, sets={"field=value", ...}, isa=nil or text, single_file=boolean}
-- -> name, array of {name=, text=} sorted by name, array of ISA ids | nil, message
function commands.write(options)
    local shape, message = spec.load(options)
    if not shape then return nil, message end
    return shape.name, require("emit").files(shape, {
        command = command_line(options),
        single_file = options.single_file,
        spec_text = spec.canonical(shape),
    }), shape.isa
end

-- Takes and returns what commands.write does; the files are those of a program that benches the
-- kernels. A hyphen keeps the bench's own files apart: no kernel's name has one.
function commands.bench(options)
    local name, written, isas = commands.write(options)
    if not name then return nil, written end
    local files = {}
    for _, path in ipairs { "tests/kernel.h", "tests/describe.inc", "tests/bench/machine.h",
        "tests/bench/machine.c", "tests/bench/parts.h", "tests/bench/parts.inc",
        "tests/bench/bench.h", "tests/bench/bench.c", "tests/bench/report.c" } do
        files[#files + 1] = { name = "bench-" .. path:match("[^/]*$"),
            text = attnc.text(path):gsub('#include "', '#include "bench-') }
    end
    -- One file holds the kernel and its descriptor, which reaches what is not in the API.
    local code, sets = {}, {}
    for _, file in ipairs(written) do
        local part = file.name:match("^" .. name .. "_(%w+)%.c$")
        if not part then
            files[#files + 1] = file
        elseif part ~= "selftest" then
            code[#code + 1] = file.text
            if part ~= "dispatch" and part ~= "scalar" then
                sets[#sets + 1] = ("X(%s)"):format(part)
            end
        end
    end
    files[#files + 1] = { name = "bench-kernel.c", text = table.concat(code) .. ([[

#define ID NAME
#define K NAME
#define N UPPER
#define EACH_SET(X) SETS
#include "bench-parts.inc"
const struct parts *const parts[] = { &parts_NAME };
const size_t parts_count = 1;
]]):gsub("NAME", name):gsub("UPPER", name:upper()):gsub("SETS", table.concat(sets, " ")) }
    return name, files, isas
end

-- -> text for stdout | nil, message
function commands.info(options)
    local shape, message = spec.load(options)
    if not shape then return nil, message end
    local info = require "info"
    if options.json then return attnc.json(info.table(shape)) end
    return info.text(shape)
end

-- options = {file=, text=, seq=nil or N, isa=nil or text, json=boolean, write=boolean}
-- -> name, array of {name=, text=} (nil: none are to be written), text for stdout | nil, message
function commands.import(options)
    local import = require "import/import"
    local model, message = import.read(options.file, options.text)
    if not model then return nil, message end
    local files, specs
    if options.write then
        local words = { "attnc import", shell_word(options.file:match("[^/]*$")) }
        if options.seq then words[#words + 1] = "--seq " .. options.seq end
        if options.isa then
            words[#words + 1] = "--isa " .. shell_word(options.isa == "native"
                and table.concat(spec.native(), ",") or options.isa)
        end
        specs, message = import.specs(model, { seq = options.seq, isa = options.isa,
            command = table.concat(words, " ") })
        if not specs then return nil, message end
        files = {}
        for i, each in ipairs(specs) do
            files[i] = { name = each.file, text = each.text }
        end
        table.sort(files, function(a, b) return a.name < b.name end)
    end
    if options.json then
        return model.base or model.name, files, attnc.json(import.rows(model))
    end
    return model.base, files, import.report(model, specs)
end

-- -> text for stdout: one line a model type
function commands.help_models()
    local import = require "import/import"
    return "Model types that attnc import reads:\n\n"
        .. table.concat(import.types(), "\n") .. "\n"
end

function commands.help_spec()
    return spec.help()
end

-- Whether this CPU runs the instruction set `id`.
function commands.runs(id)
    return spec.runs(id)
end

-- How the tests run an instruction set, in words: native, or the emulator's command.
local function tested_by(set)
    local ways = {}
    ways[#ways + 1] = set.test.native and "native" or nil
    ways[#ways + 1] = set.test.run
    return ways
end

-- -> text for stdout: one line an instruction set, or as JSON an array
function commands.isa(options)
    local list, lines = {}, {}
    for index, set in ipairs(isa.all()) do
        local runs = spec.runs(set.id)
        list[index] = { name = set.id, about = set.about, arch = set.arch, fused = set.fused,
            lanes = set.lanes, needs = #set.needs > 0 and set.needs or nil, runs_here = runs,
            file_suffix = set.symbol, test = set.test, tested_by = tested_by(set) }
        lines[index] = ("%-14s %-18s %-8s needs %s"):format(set.id,
            runs and "runs on this CPU" or "does not run here", set.arch,
            #set.needs > 0 and table.concat(set.needs, ", ") or "nothing")
    end
    return options.json and attnc.json(list) or table.concat(lines, "\n") .. "\n"
end

-- What the head of a written file says: {version=, command=, templates=, body=, spec=} or nil.
local function read_head(text)
    local json = attnc.parse_json(text)
    if type(json) == "table" and type(json.attnc) == "table" then
        local head = json.attnc
        return { version = head.version, command = head.command, spec = json.spec,
                          templates = head.templates_sha256 }
    end
    local lines, head = {}, {}
    for line in text:gmatch("([^\n]*)\n") do
        if line == " */" or line == "# end of head" then break end
        lines[#lines + 1] = line:gsub("^/%* ", ""):gsub("^ %* ?", ""):gsub("^# ?", "")
        if #lines > 500 then return nil end
    end
    for i, line in ipairs(lines) do
        local version, command = line:match("^Written by attnc (%S+): (.*)$")
        if version then head.version, head.command = version, command end
        head.templates = head.templates or line:match("^templates sha256 (%x+)$")
        if line == "spec:" then
            head.spec = table.concat(lines, "\n", i + 1):gsub("%f[^\n\0]  ", "") .. "\n"
            return head
        end
    end
end

-- Compares the text of the file at `path` with what this attnc writes for the spec inside it.
-- -> "unchanged", "differs" or "foreign", and a line that says so
function commands.verify(path, text)
    local base, as_read = path:match("[^/]*$"), text
    text = text:gsub("\r\n", "\n")
    local head = read_head(text)
    if not head and base:find("%.json$") and text:find('"attnc": {', 1, true)
        and text:find('"templates_sha256": "', 1, true) then
        return "differs", "edited by hand: it is JSON no more"
    end
    if not (head and type(head.version) == "string" and type(head.command) == "string"
            and type(head.spec) == "string") then
        return "foreign", "not written by attnc: it has no head that names the spec"
    end
    local function other_version()
        return "differs", ("written by another version (%s%s; this is %s)"):format(head.version,
            head.version == attnc.version and " with other templates" or "", attnc.version)
    end
    local shape = spec.load { file = path, text = head.spec, sets = {} }
    if not shape then
        if head.version ~= attnc.version then return other_version() end
        return "differs", "edited by hand: the spec in its head is not valid"
    end
    local files = require("emit").files(shape, {
        command = head.command,
        single_file = (head.command .. " "):find(" --single-file ", 1, true) ~= nil,
        spec_text = spec.canonical(shape),
    })
    local names = {}
    for _, file in ipairs(files) do
        names[#names + 1] = file.name
        if file.name == base then
            if file.text == as_read then return "unchanged", "unchanged" end
            if file.text == text then
                return "differs", "edited by hand: line endings changed"
            end
            local ours = read_head(file.text)
            if head.version ~= attnc.version or head.templates ~= ours.templates then
                return other_version()
            end
            local number, expected = 0, (file.text .. "\n"):gmatch("([^\n]*)\n")
            for line in (text .. "\n"):gmatch("([^\n]*)\n") do
                number = number + 1
                if line ~= expected() then break end
            end
            return "differs", "edited by hand: first differing line " .. number
        end
    end
    return "differs", ("renamed: its spec gives %s"):format(table.concat(names, ", "))
end

return commands
