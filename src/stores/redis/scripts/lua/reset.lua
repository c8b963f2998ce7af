-- reset: resets counters, and notifies every node that shares them in the same step, so that later requests start
-- again.
--
-- KEYS[3i-2]  a counter
-- KEYS[3i-1]  its book
-- KEYS[3i]    the head of its book
-- ARGV[1]     the channel of notices
-- ARGV[…]     the notices
--
-- Reply       how many of the counters there were; 1 when the notices were sent, 0 when this user may not send them

local gone = 0
for i = 1, #KEYS, 3 do
  if redis.call('DEL', KEYS[i], KEYS[i + 1], KEYS[i + 2]) > 0 then gone = gone + 1 end
end
local published = 1
for i = 2, #ARGV do
  local sent = redis.pcall('PUBLISH', ARGV[1], ARGV[i])
  if type(sent) == 'table' and sent.err then published = 0 end
end
return { gone, published }
