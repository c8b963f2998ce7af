-- replace: puts a text in the place of another, unless that one is not there any more.
--
-- KEYS[1]  the text
-- ARGV[1]  what was read; '' where there was none
-- ARGV[2]  what takes its place
--
-- Reply    1, or 0 where another one is there by now

if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
