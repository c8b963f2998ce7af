-- Plain groups, for decide: the one group of a call, which names each counter once and only asks for costs. That is what calls of a
-- quiet service are, so it does without the tables of a batch. It takes KEYS and ARGV; what they are, decide describes.

-- plan_of: the limits of a text, and what each begins with: ~ and & are marks of rules that do not bind by themselves. A function keeps it for the next call.
local SHADOW, QUOTA = 126, 38
local plans, plan_count = {}, 0
local function plan_of(text)
  local plan = { count = 0, quotas = 0 }
  for part in string.gmatch(text, '[^\n]+') do
    local mark, i = string.byte(part), plan.count + 1
    if mark == SHADOW or mark == QUOTA then part = string.sub(part, 2) end
    if mark == QUOTA then plan.quotas = plan.quotas + 1 end
    plan[i], plan[-i], plan.count = limit_of(part), mark, i
  end
  if plan.count == 1 then plan.lone = plan[1] end
  if plan_count == MAX_LIMITS then plans, plan_count = {}, 0 end
  plans[text], plan_count = plan, plan_count + 1
  return plan
end

-- costs_of: what a text asks of each limit.
local function costs_of(text)
  local costs = {}
  for word in string.gmatch(text, '%S+') do costs[#costs + 1] = tonumber(word) end
  return costs
end

-- MAX_WHOLE: from here on, not every whole number is a double.
local MAX_WHOLE = 9007199254740992

-- decide_lone does for one charge what decide_one does.
local function decide_lone(L, cost)
  local key = KEYS[1]
  local raw = pcall('GET', key)
  local start, one, two, stored = NEVER, 0, 0, nil
  if raw then start, one, two, stored = L.read(raw, L) end
  local code, remaining, reset, wait, expires_at, a, b, c = L.run(start, one, two, L, now, cost)
  if cost ~= 0 then
    if expires_at <= now then
      if type(raw) == 'string' then call('DEL', key) end
    elseif code == 0 or L.count_denied or a ~= start or b ~= one or c ~= two then
      write(L, key, spell_numbers(L, a, b, c), expires_at, stored)
    end
  end
  if code == 0 and wait == 0 then
    local whole = reset * (L.capacity + 1) + remaining
    if whole >= 0 and whole < MAX_WHOLE and whole % 1 == 0 then return whole end
  end
  return pack('<BI4dd', code, remaining, reset, wait)
end

local codes, verdicts, states, ends, stored_ends = {}, {}, {}, {}, {}

-- decide_few does what decide_group does.
local function decide_few(plan, cost, costs)
  local count = plan.count
  local stored = call('MGET', unpack(KEYS))
  local refused, quotas_refused = false, 0
  for i = 1, count do
    local L, raw = plan[i], stored[i]
    if costs then cost = costs[i] end
    local start, one, two, stored_end = NEVER, 0, 0, nil
    if raw then start, one, two, stored_end = L.read(raw, L) end
    local code, remaining, reset, wait, expires_at, a, b, c = L.run(start, one, two, L, now, cost)
    codes[i], states[i], verdicts[i] = code, nil, pack('<BI4dd', code, remaining, reset, wait)
    if cost ~= 0 then
      if expires_at <= now then
        states[i] = ''
      elseif code == 0 or L.count_denied or a ~= start or b ~= one or c ~= two then
        states[i], ends[i], stored_ends[i] = spell_numbers(L, a, b, c), expires_at, stored_end
      end
    end
    if code ~= 0 then
      if plan[-i] == QUOTA then
        quotas_refused = quotas_refused + 1
      elseif plan[-i] ~= SHADOW then
        refused = true
      end
    end
  end
  if quotas_refused > 0 and quotas_refused == plan.quotas then refused = true end
  for i = 1, count do
    local L, state = plan[i], states[i]
    if refused and codes[i] == 0 then
      -- What would have fitted was not charged, and its budget is told as it is.
      local start, one, two = numbers_of(stored[i], L)
      local _, remaining, reset = L.run(start, one, two, L, now, 0)
      verdicts[i] = pack('<BI4dd', 0, remaining, reset, 0)
    elseif state == '' then
      if stored[i] then call('DEL', KEYS[i]) end
    elseif state then
      write(L, KEYS[i], state, ends[i], stored_ends[i])
    end
  end
  if count == 2 then return verdicts[1] .. verdicts[2] end
  return table.concat(verdicts, '', 1, count)
end

-- decide_plain: the answer to a plain group; nothing where the call has none.
local function decide_plain(text)
  local plan = plans[text]
  if not plan then
    -- A time has digits, or is empty.
    if not string.find(text, '^[%a~&]') then return nil end
    plan = plan_of(text)
  end
  ttls = nil
  read_time(ARGV[3] or '')
  local cost, costs = ARGV[2], nil
  if not cost then
    cost = 1
  else
    cost = tonumber(cost)
    if not cost then costs = costs_of(ARGV[2]) end
  end
  local L = plan.lone
  if L then return decide_lone(L, cost) end
  return decide_few(plan, cost, costs)
end
