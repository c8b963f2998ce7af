-- decide: evaluates groups of charges, each atomically: when every enforcing charge of a group fits, all that fit are
-- charged; when one does not, none is. Groups are taken in order, and a counter is read and written once, however many
-- charges of the batch name it.
--
-- A call has one of two forms. The plain one is for one group that names each counter once, and of which every charge
-- asks for a cost: no logs, no permits, no late charges, and nothing that may be lent, but for a lone charge.
--
-- KEYS[i]  a counter; of a lone charge whose counter may be lent also the head of its book
-- ARGV[1]  the limits of the counters, a line each; before it ~ for a shadow rule, & for one in quota mode, + for a
-- lone one that may be
--          lent. Each line is a text as below
-- ARGV[2]  the cost, or the costs in order; 1 if there is none
-- ARGV[3]  the time in ms; there is none for the server's own
--
-- Reply    of one counter that allows immediately, when it is less than 2^53: resetAfterMs * (capacity + 1) +
-- remaining. Otherwise as below
--
-- The other form has everything else.
--
-- KEYS[i]  a counter, or the head of its book (see heads), each once
-- ARGV[1]  the time in ms; empty for the server's own
-- ARGV[2]  how many limits follow
-- ARGV[…]  each limit as one text: algorithm, limit, window, capacity, per_ms, per_hit, quantum, count_denied, edges…
-- ARGV[n]  the groups, packed: u16 charges, and for each charge
--            u16 key (from 1), u16 limit (from 1), double cost, u8 flags, 8 bytes id of the permits
--          flags: 1 enforce, 2 quota, 4 keep (else look only), 8 the id is one, 16 a late charge, which is made
--          whether it fits or not, into a debt of at most one budget, 32 slices of the counter may be lent: what is
--          out counts as spent, and the id begins with a u16, the key of the head of its book; 64 that key is the next
--          after the counter's
--
-- Reply    the verdicts, packed, in order: u8 code (0 allowed, 1 refused, 2 impossible, 3 refused because of what is
--          lent: the book knows more), u32 remaining, double resetAfterMs, double waitMs; of a late charge code 0, and
--          instead of waitMs what was dropped

--- @include "libraries"
local function define()
--- @include "charges"

--- @include "plain"

local function main(keys, args)
  local plan = plans[args[1]]
  if plan then return plan.decide(plan, keys, args) end
  if is_function then KEYS, ARGV = keys, args end
  use_libraries()
  plan = plan_of(args[1])
  if plan then return plan.decide(plan, keys, args) end
  local limit_total = tonumber(ARGV[2])
  packed = ARGV[3 + limit_total]
  for i = 1, limit_total do limits[i] = limit_of(ARGV[2 + i]) end
  if begin(#KEYS, ARGV[1]) then fitted, named = {}, {} end
  reply, replies = {}, 0
  read(#KEYS)
  local position, last = 1, #packed
  while position <= last do position = decide_next(position) end
  write_all(1, #KEYS)
  return table.concat(reply)
end

return main
end
return define()(KEYS, ARGV)
