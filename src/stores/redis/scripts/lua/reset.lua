-- reset: resets counters, and notifies every node that shares them in the same step, so that later requests start
-- again.
--
-- KEYS[4i-3]  a counter
-- KEYS[4i-2]  its book
-- KEYS[4i-1]  the head of its book
-- KEYS[4i]    what nodes report of it, if it is sampled
-- ARGV[1]     the channel of notices
-- ARGV[…]     the notices
--
-- Reply       how many of the counters there were; 1 when the notices were sent, 0 when this user may not send them

local gone = 0
for i = 1, #KEYS, 4 do
  if redis.call('DEL', KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3]) > 0 then gone = gone + 1 end
end
local published = 1
for i = 2, #ARGV do
  local sent = redis.pcall('PUBLISH', ARGV[1], ARGV[i])
  if type(sent) == 'table' and sent.err then published = 0 end
end
return { gone, published }
