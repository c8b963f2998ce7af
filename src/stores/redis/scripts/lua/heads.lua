-- The heads of books, for scripts that look at what is lent of a counter. A head is a separate text next to the book, so that
-- it is read together with the counters, and costs no call where nothing is lent. It takes `now`, of counters.
--
-- A head is struct <ddddd: what is out, holders of something, when the first holding ends, when the book was last touched,
-- until when it matters.

local HEAD = '<ddddd'

-- LONGEST_MS: twenty years. Nothing in a book is further away: windows and leases have at most ten.
local LONGEST_MS = 631139040000
local function is_amount(x) return x >= 0 and x <= 2 * MAX_COUNT end
local function is_time(x) return is_finite(x) and x <= now + LONGEST_MS end

-- read_head: the numbers of a head, or nothing for what cannot be one.
local function read_head(raw)
  if not raw or #raw ~= 40 then return end
  local out, holders, next_end, touched, matters = struct.unpack(HEAD, raw)
  if is_amount(out) and is_amount(holders) and is_time(next_end) and is_time(touched) and is_time(matters) then
    return out, holders, next_end, touched, matters
  end
end
