// Written by scripts/lua.mjs from the files in lua/, without their comments and indentation.
export const LUA_TEXTS = {
  'hits-1': `local counter = KEYS[1]
local added, window_ms, renews = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
local hits = tonumber(redis.call('GET', counter)) or 0
if added > 0 or (added < 0 and hits > 0) then hits = redis.call('INCRBY', counter, added) end
local left_ms = redis.call('PTTL', counter)
if added > 0 and (renews or left_ms < 0) then
redis.call('PEXPIRE', counter, window_ms)
left_ms = window_ms
end
return { hits, left_ms }`,
} as const
