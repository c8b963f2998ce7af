-- Counts hits of one key in a window that begins with the first of them.
-- KEYS[1] the counter
-- ARGV[1] hits to add: 1, -1 to take one back, 0 to look
-- ARGV[2] length of a window in milliseconds
-- ARGV[3] 1 to restart the window with every hit
-- Reply: hits, milliseconds until the window ends
local counter = KEYS[1]
local added, window_ms, renews = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'

local hits = tonumber(redis.call('GET', counter)) or 0
-- Taking back after the end of a window must not leave a counter below zero that never expires.
if added > 0 or (added < 0 and hits > 0) then hits = redis.call('INCRBY', counter, added) end
local left_ms = redis.call('PTTL', counter)
if added > 0 and (renews or left_ms < 0) then
  redis.call('PEXPIRE', counter, window_ms)
  left_ms = window_ms
end
return { hits, left_ms }
