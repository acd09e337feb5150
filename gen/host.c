#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <lauxlib.h>
#include <lualib.h>
#include <sha256.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "cpu.h"

enum {
    SANDBOX_BYTES = 32 << 20,        /* so that all of attnc stays below 64 MiB */
    SANDBOX_INSTRUCTIONS = 10000000, /* the same limit on every machine, about 0.1 s */
    SANDBOX_MICROSECONDS = 500000,   /* of CPU time: for loops inside C functions */
    SPEC_DEPTH = 8,
    SPEC_ENTRIES = 1000,
    SPEC_STRING = 1000,
    FILE_LIMIT = 16 << 20,
};

char *read_file(const char *path, size_t limit, size_t *size, const char **error) {
    char *text = NULL;
    struct stat status;
    /* O_NONBLOCK: opening a fifo must not wait for a writer */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0) {
        *error = strerror(errno);
        goto done;
    }
    if (S_ISDIR(status.st_mode)) {
        *error = "is a directory, not a file";
        goto done;
    }
    /* but reading from a pipe waits for what its writer still has to say */
    int flags = fcntl(file, F_GETFL);
    if (flags < 0 || fcntl(file, F_SETFL, flags & ~O_NONBLOCK) != 0) {
        *error = strerror(errno);
        goto done;
    }
    /* One byte more than allowed shows that a file is too long, whatever its status says. */
    text = malloc(limit + 2);
    if (text == NULL) {
        *error = "not enough memory";
        goto done;
    }
    *size = 0;
    for (;;) {
        ssize_t got = read(file, text + *size, limit + 1 - *size);
        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0)
            *size += (size_t)got;
        if (got < 0 || *size > limit) {
            *error = got < 0 ? strerror(errno) : "is too long";
            free(text);
            text = NULL;
            goto done;
        }
    }
    text[*size] = 0;
done:
    if (file >= 0)
        close(file);
    return text;
}

/* ---- the sandbox ---- */

/* Every byte of the sandboxed state comes from here; beyond the limit Lua sees a failed malloc. */
static void *limited_alloc(void *user, void *block, size_t old_size, size_t new_size) {
    size_t *left = user;
    if (block == NULL)
        old_size = 0; /* Lua passes a type tag then */
    if (new_size > old_size && new_size - old_size > *left)
        return NULL;
    void *grown = NULL;
    if (new_size == 0)
        free(block);
    else if ((grown = realloc(block, new_size)) == NULL)
        return NULL;
    *left += old_size;
    *left -= new_size;
    return grown;
}

static void instruction_limit(lua_State *lua, lua_Debug *event) {
    (void)event;
    luaL_error(lua, "the spec runs too long: more than %d instructions", SANDBOX_INSTRUCTIONS);
}

/* A C function such as string.rep can run for ages without a Lua instruction. Nothing has been
 * written while a spec is read, so that the process may end on the spot. */
static char time_message[256];

static void time_limit(int signal) {
    (void)signal;
    ssize_t ignored = write(STDERR_FILENO, time_message, strlen(time_message));
    (void)ignored;
    _exit(2);
}

static void set_time_limit(int microseconds) {
    struct sigaction action = {.sa_handler = microseconds > 0 ? time_limit : SIG_DFL};
    struct itimerval timer = {.it_value = {.tv_usec = microseconds}};
    if (microseconds > 0)
        sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    if (microseconds == 0)
        sigaction(SIGPROF, &action, NULL);
}

static const struct builtin *find_builtin(const char *path) {
    for (size_t i = 0; i < builtin_count; i++)
        if (strcmp(builtins[i].path, path) == 0)
            return &builtins[i];
    return NULL;
}

/* Runs protected in the sandboxed state: sandbox(builtin, text, size) -> the spec's value. */
struct spec_text {
    const char *text;
    size_t size;
};

static int run_spec(lua_State *lua) {
    const struct spec_text *spec = lua_touserdata(lua, 1);
    const struct builtin *prelude = find_builtin("gen/sandbox.lua");
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_MATHLIBNAME, luaopen_math}};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        luaL_requiref(lua, libraries[i].name, libraries[i].func, 1);
    if (luaL_loadbufferx(lua, (const char *)prelude->data, prelude->size, "=sandbox", "t") !=
        LUA_OK)
        return lua_error(lua);
    lua_call(lua, 0, 1); /* the names that a spec may use */
    if (luaL_loadbufferx(lua, spec->text, spec->size, "=(spec)", "t") != LUA_OK)
        return lua_error(lua);
    lua_insert(lua, -2);
    lua_setupvalue(lua, -2, 1); /* _ENV */
    lua_sethook(lua, instruction_limit, LUA_MASKCOUNT, SANDBOX_INSTRUCTIONS);
    lua_call(lua, 0, 1);
    lua_sethook(lua, NULL, 0, 0);
    return 1;
}

/* Copies the value on top of `from` to the top of `to`, without running any Lua code.
 * Returns NULL or what is wrong. */
static const char *copy_value(lua_State *from, lua_State *to, int depth, int *entries) {
    size_t size;
    const char *text, *error;
    if (!lua_checkstack(from, 4))
        return "it is nested too deeply";
    luaL_checkstack(to, 4, NULL);
    switch (lua_type(from, -1)) {
    case LUA_TBOOLEAN:
        lua_pushboolean(to, lua_toboolean(from, -1));
        return NULL;
    case LUA_TNUMBER:
        if (lua_isinteger(from, -1))
            lua_pushinteger(to, lua_tointeger(from, -1));
        else
            lua_pushnumber(to, lua_tonumber(from, -1));
        return NULL;
    case LUA_TSTRING:
        text = lua_tolstring(from, -1, &size);
        if (size > SPEC_STRING)
            return "it holds a string of more than 1000 bytes";
        lua_pushlstring(to, text, size);
        return NULL;
    case LUA_TTABLE:
        if (depth == SPEC_DEPTH)
            return "it is nested more than 8 tables deep, or holds itself";
        lua_newtable(to);
        for (lua_pushnil(from); lua_next(from, -2) != 0;) {
            if (--*entries < 0)
                return "it has more than 1000 entries";
            if (lua_type(from, -2) != LUA_TSTRING && !lua_isinteger(from, -2))
                return "it has a key that is neither a name nor a whole number";
            lua_pushvalue(from, -2);
            if ((error = copy_value(from, to, depth + 1, entries)) != NULL)
                return error;
            lua_pop(from, 1);
            if ((error = copy_value(from, to, depth + 1, entries)) != NULL)
                return error;
            lua_rawset(to, -3);
            lua_pop(from, 1);
        }
        return NULL;
    case LUA_TNIL: /* the whole value only: a table never holds nil */
        lua_pushnil(to);
        return NULL;
    default:
        return "it holds a function, where numbers, strings, booleans and tables are allowed";
    }
}

/* attnc.sandbox(text, name) -> the value that the spec returns | nil, message, which begins with
 * "(spec):LINE:" where a line is known. The name is for the message of the time limit, which ends
 * the process. */
static int host_sandbox(lua_State *lua) {
    struct spec_text spec;
    spec.text = luaL_checklstring(lua, 1, &spec.size);
    snprintf(time_message, sizeof time_message,
             "attnc: %.150s: the spec runs too long: more than half a second\n",
             luaL_checkstring(lua, 2));
    size_t left = SANDBOX_BYTES;
    int entries = SPEC_ENTRIES;
    const char *error = NULL;
    lua_State *box = lua_newstate(limited_alloc, &left);
    if (box == NULL)
        return luaL_error(lua, "not enough memory");
    set_time_limit(SANDBOX_MICROSECONDS);
    lua_pushcfunction(box, run_spec); /* a light C function: allocates nothing */
    lua_pushlightuserdata(box, &spec);
    int status = lua_pcall(box, 1, 1, 0);
    set_time_limit(0);
    lua_settop(lua, 1);
    if (status == LUA_OK)
        error = copy_value(box, lua, 0, &entries);
    else if (status == LUA_ERRMEM)
        error = "the spec needs too much memory: more than 32 MiB";
    else if (lua_type(box, -1) == LUA_TSTRING)
        error = lua_tostring(box, -1);
    else
        error = "the spec raised an error that is not a text";
    if (error != NULL) {
        lua_settop(lua, 1);
        lua_pushnil(lua);
        if (status == LUA_OK)
            lua_pushfstring(lua, "the spec cannot be read: %s", error);
        else /* at most a few lines of it: the text may be the spec's own */
            lua_pushlstring(lua, error, strnlen(error, SPEC_STRING));
    }
    lua_close(box);
    return lua_gettop(lua) - 1;
}

/* ---- what the trusted state gets as `attnc` ---- */

static const char *templates_directory; /* NULL: the built-in ones */

static bool is_template(const char *path) { return strncmp(path, "templates/", 10) == 0; }

/* attnc.text(path) -> the text of a built-in file; an error if there is none. */
static int host_text(lua_State *lua) {
    const char *path = luaL_checkstring(lua, 1), *error;
    if (templates_directory != NULL && is_template(path)) {
        size_t size;
        const char *file = lua_pushfstring(lua, "%s/%s", templates_directory, path + 10);
        char *text = read_file(file, FILE_LIMIT, &size, &error);
        if (text == NULL)
            return luaL_error(lua, "%s: %s", file, error);
        lua_pushlstring(lua, text, size);
        free(text);
        return 1;
    }
    const struct builtin *file = find_builtin(path);
    if (file == NULL)
        return luaL_error(lua, "no built-in file '%s'", path);
    lua_pushlstring(lua, (const char *)file->data, file->size);
    return 1;
}

/* Appends every file below `directory` to the table on top, as "templates/...". */
static void list_directory(lua_State *lua, int result, const char *directory, const char *prefix) {
    DIR *entries = opendir(directory);
    if (entries == NULL) {
        luaL_error(lua, "%s: %s", directory, strerror(errno));
        return;
    }
    luaL_checkstack(lua, 8, NULL);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        struct stat status;
        if (entry->d_name[0] == '.')
            continue;
        const char *file = lua_pushfstring(lua, "%s/%s", directory, entry->d_name);
        const char *path = lua_pushfstring(lua, "%s/%s", prefix, entry->d_name);
        if (stat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
            list_directory(lua, result, file, path);
        } else {
            lua_pushvalue(lua, -1);
            lua_rawseti(lua, result, (lua_Integer)lua_rawlen(lua, result) + 1);
        }
        lua_pop(lua, 2);
    }
    closedir(entries);
}

/* attnc.list() -> the paths of all built-in files that take part in writing, sorted. */
static int host_list(lua_State *lua) {
    lua_newtable(lua);
    for (size_t i = 0; i < builtin_count; i++)
        if (strncmp(builtins[i].path, "tests/", 6) != 0 &&
            strncmp(builtins[i].path, "gen/import/", 11) != 0 &&
            (templates_directory == NULL || !is_template(builtins[i].path))) {
            lua_pushstring(lua, builtins[i].path);
            lua_rawseti(lua, -2, (lua_Integer)lua_rawlen(lua, -2) + 1);
        }
    if (templates_directory != NULL)
        list_directory(lua, lua_gettop(lua), templates_directory, "templates");
    lua_getglobal(lua, "table");
    lua_getfield(lua, -1, "sort");
    lua_pushvalue(lua, -3);
    lua_call(lua, 1, 0);
    lua_pop(lua, 1);
    return 1;
}

/* attnc.sha256(text) -> 64 hexadecimal digits. */
static int host_sha256(lua_State *lua) {
    size_t size;
    char digest[SHA256_DIGEST_STRING_LENGTH];
    const char *text = luaL_checklstring(lua, 1, &size);
    lua_pushstring(lua, SHA256Data((const uint8_t *)text, size, digest));
    return 1;
}

/* A new reference to the JSON value of the Lua value at `index`, NULL if it has none. */
static json_t *to_json(lua_State *lua, int index) {
    size_t size;
    const char *text;
    json_t *value = NULL;
    if (!lua_checkstack(lua, 4))
        return NULL;
    switch (lua_type(lua, index)) {
    case LUA_TBOOLEAN:
        return json_boolean(lua_toboolean(lua, index));
    case LUA_TNUMBER:
        if (lua_isinteger(lua, index))
            return json_integer(lua_tointeger(lua, index));
        return json_real(lua_tonumber(lua, index)); /* NULL for NaN and infinities */
    case LUA_TSTRING:
        text = lua_tolstring(lua, index, &size);
        return json_stringn(text, size);
    case LUA_TTABLE:
        break;
    default:
        return NULL;
    }
    size_t length = lua_rawlen(lua, index);
    lua_pushnil(lua);
    bool object = lua_next(lua, index) != 0 && length == 0;
    lua_settop(lua, index);
    value = object ? json_object() : json_array();
    bool good = value != NULL;
    if (object)
        for (lua_pushnil(lua); good && lua_next(lua, index) != 0; lua_settop(lua, index + 1))
            good = lua_type(lua, index + 1) == LUA_TSTRING &&
                   json_object_set_new(value, lua_tostring(lua, index + 1),
                                       to_json(lua, index + 2)) == 0;
    for (size_t i = 1; good && i <= length; i++) {
        lua_rawgeti(lua, index, (lua_Integer)i);
        good = json_array_append_new(value, to_json(lua, index + 1)) == 0;
        lua_settop(lua, index);
    }
    if (good)
        return value;
    json_decref(value);
    return NULL;
}

/* attnc.json(value) -> JSON text: keys sorted, 2 spaces, a newline at the end. */
static int host_json(lua_State *lua) {
    lua_settop(lua, 1);
    json_t *value = to_json(lua, 1);
    if (value == NULL)
        return luaL_error(lua, "a value that JSON cannot hold");
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(17) |
                                       JSON_ENCODE_ANY);
    json_decref(value);
    lua_settop(lua, 0);
    if (text == NULL)
        return luaL_error(lua, "not enough memory");
    lua_pushfstring(lua, "%s\n", text);
    free(text);
    return 1;
}

/* `null` is the index of what stands for JSON's null. */
static void push_json(lua_State *lua, json_t *value, int null) {
    const char *key;
    json_t *item;
    size_t i;
    luaL_checkstack(lua, 4, NULL);
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        lua_newtable(lua);
        json_object_foreach(value, key, item) {
            push_json(lua, item, null);
            lua_setfield(lua, -2, key);
        }
        break;
    case JSON_ARRAY:
        lua_newtable(lua);
        luaL_newmetatable(lua, "array"); /* so that an empty one is no object */
        lua_setmetatable(lua, -2);
        json_array_foreach(value, i, item) {
            push_json(lua, item, null);
            lua_rawseti(lua, -2, (lua_Integer)i + 1);
        }
        break;
    case JSON_STRING:
        lua_pushlstring(lua, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        lua_pushinteger(lua, json_integer_value(value));
        break;
    case JSON_REAL:
        lua_pushnumber(lua, json_real_value(value));
        break;
    case JSON_NULL:
        lua_pushvalue(lua, null);
        break;
    default:
        lua_pushboolean(lua, json_is_true(value));
    }
}

/* attnc.parse_json(text, null) -> table or array | nil, message. `null` stands for null; without it
 * a null is nothing. An array has a metatable whose __name is "array". */
static int host_parse_json(lua_State *lua) {
    size_t size;
    json_error_t error;
    const char *text = luaL_checklstring(lua, 1, &size);
    lua_settop(lua, 2);
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (value == NULL) {
        lua_pushnil(lua);
        lua_pushfstring(lua, "line %d: %s", error.line, error.text);
        return 2;
    }
    push_json(lua, value, 2);
    json_decref(value);
    return 1;
}

/* attnc.machine() -> {arch=, <word>=, ...}: this machine, in the words of gen/cpu.lua. */
static int host_machine(lua_State *lua) {
    struct cpu_word words[CPU_WORDS];
    size_t count = cpu_read(words);
    lua_newtable(lua);
    lua_pushstring(lua, cpu_arch());
    lua_setfield(lua, -2, "arch");
    for (size_t i = 0; i < count; i++) {
        lua_pushinteger(lua, (lua_Integer)words[i].value);
        lua_setfield(lua, -2, words[i].name);
    }
    return 1;
}

/* package.searchers: `require "spec"` finds the built-in gen/spec.lua, "import/facts" the one in
 * gen/import/, and nothing else. */
static int search_builtin(lua_State *lua) {
    const char *path = lua_pushfstring(lua, "gen/%s.lua", luaL_checkstring(lua, 1));
    const struct builtin *file = find_builtin(path);
    const char *chunk = lua_pushfstring(lua, "@%s", path);
    if (file == NULL) {
        lua_pushfstring(lua, "no built-in file '%s'", path);
    } else if (luaL_loadbufferx(lua, (const char *)file->data, file->size, chunk, "t") != LUA_OK) {
        return lua_error(lua);
    }
    return 1;
}

lua_State *host_open(const char *templates) {
    static const luaL_Reg functions[] = {{"text", host_text},
                                         {"list", host_list},
                                         {"sha256", host_sha256},
                                         {"json", host_json},
                                         {"parse_json", host_parse_json},
                                         {"sandbox", host_sandbox},
                                         {"machine", host_machine},
                                         {NULL, NULL}};
    lua_State *lua = luaL_newstate();
    if (lua == NULL)
        return NULL;
    templates_directory = templates;
    luaL_openlibs(lua);
    luaL_newlib(lua, functions);
    lua_pushstring(lua, ATTNC_VERSION);
    lua_setfield(lua, -2, "version");
    lua_setglobal(lua, "attnc");
    lua_getglobal(lua, "package");
    lua_newtable(lua);
    lua_pushcfunction(lua, search_builtin);
    lua_rawseti(lua, -2, 1);
    lua_setfield(lua, -2, "searchers");
    lua_pop(lua, 1);
    return lua;
}
