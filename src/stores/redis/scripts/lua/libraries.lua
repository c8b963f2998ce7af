-- The libraries of Lua and Redis, for scripts that can be a function. Everything else that such a script defines is
-- inside its function `define`: what a definition takes from around `define` is found directly, what it takes from the
-- same scope is searched for. A script defines everything with every call, and this saves a seventh of that.

-- A function has no keys yet when it is defined: `main` receives them and keeps them in KEYS and ARGV, which are
-- globals of a script.
local is_function = not KEYS

-- A function is defined where the libraries of Lua are not there yet, and there every global is looked up in three tables.
-- `main` begins with use_libraries.
local function libraries() return math, redis, string, struct, table, tonumber, type, unpack end
local math, redis, string, struct, table, tonumber, type, unpack
local call, pcall, pack, read_packed
local function use_libraries()
  if math then return end
  math, redis, string, struct, table, tonumber, type, unpack = libraries()
  call, pcall, pack, read_packed = redis.call, redis.pcall, struct.pack, struct.unpack
end
