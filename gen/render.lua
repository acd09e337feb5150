--- The template engine: C text with Lua between its lines.
--
-- A line whose first character that is not blank is `$`, and not `${`, is Lua. In every other line
-- `${expr}` is replaced by the value of the Lua expression; all the rest is copied as it stands.
-- Each template line becomes one line of a Lua chunk, so that a Lua error names the template's file
-- and line.
--
-- render.run(text, name, env) -> string. `env` holds the variables that the template sees, besides
-- the standard ones; a global that the template sets stays in `env`, which is how one template's
-- functions reach another. Raises an error where an expression is nil, a boolean, a table or a
-- number with no exact text: such a value never means something in C.
local render = {}

local function quoted(text)
    return (("%q"):format(text):gsub("\\\n", "\\n"))
end

-- The position of the brace that closes the one at `open`; braces in Lua strings must balance.
local function closing_brace(line, open, name, number)
    local depth = 0
    for position = open, #line do
        local char = line:sub(position, position)
        if char == "{" then
            depth = depth + 1
        elseif char == "}" then
            depth = depth - 1
            if depth == 0 then
                return position
            end
        end
    end
    error(("%s:%d: ${ without }"):format(name, number), 0)
end

local function text_line(line, name, number)
    local parts, from = {}, 1
    while true do
        local open = line:find("${", from, true)
        if not open then
            break
        end
        local close = closing_brace(line, open + 1, name, number)
        parts[#parts + 1] = quoted(line:sub(from, open - 1))
        parts[#parts + 1] = ("__value(%s)"):format(line:sub(open + 2, close - 1))
        from = close + 1
    end
    parts[#parts + 1] = quoted(line:sub(from) .. "\n")
    return ("__put(%s)"):format(table.concat(parts, ", "))
end

local function value(x)
    if type(x) == "string" then
        return x
    end
    local integer = math.type(x) and math.tointeger(x)
    if not integer then
        error(("${} gives %s (%s), which has no exact text"):format(tostring(x), type(x)), 2)
    end
    return tostring(integer)
end

function render.run(text, name, env)
    local lua, number = {}, 0
    for line in (text:sub(-1) == "\n" and text or text .. "\n"):gmatch("(.-)\n") do
        number = number + 1
        local code = line:match("^%s*%$([^{].*)$")
        if code or line:match("^%s*%$$") then
            lua[number] = code or ""
        else
            lua[number] = text_line(line, name, number)
        end
    end
    local out = {}
    env.__value = value
    env.__put = function(...)
        for _, part in ipairs({ ... }) do
            out[#out + 1] = part
        end
    end
    if not getmetatable(env) then
        setmetatable(env, { __index = _G })
    end
    assert(load(table.concat(lua, "\n"), "@" .. name, "t", env))()
    return table.concat(out)
end

return render
