-- The buckets, as in core/algorithms/token-bucket.ts, gcra.ts and leaky-bucket.ts. They return what the windows do.

local function round(x) return math.floor(x + 0.5) end

local function token_bucket(at, first, _, L, now, cost)
  local full, per_hit, per_ms = L.full, L.per_hit, L.per_ms
  local units = full
  if at ~= NEVER then
    units = math.max(full - round(first * per_hit), -full)
    if now > at then units = math.min(units + (now - at) * per_ms, full) end
  end
  local price = cost * per_hit
  local code, wait = 0, 0
  if cost > L.capacity then
    code = 2
  elseif price < 0 or price <= units then
    units = math.min(units - price, full)
  else
    code = 1
    if L.count_denied then units = math.max(units - price, -full) end
    wait = math.ceil((price - units) / per_ms)
  end
  local remaining, reset = 0, 0
  if units > 0 then remaining = math.floor(units / per_hit) end
  if units < full then reset = math.ceil((full - units) / per_ms) end
  return code, remaining, reset, wait, now + reset, now, (full - units) / per_hit, 0
end

local function gcra(at, _, _, L, now, cost)
  local full, per_hit, per_ms = L.full, L.per_hit, L.per_ms
  local now_units = now * per_ms
  local deepest = full
  if L.count_denied then deepest = 2 * full end
  local used = 0
  local tat = round(at * per_ms)
  if tat > now_units then used = math.min(tat - now_units, deepest) end
  local price = cost * per_hit
  local code, wait = 0, 0
  if cost > L.capacity then
    code = 2
  elseif price < 0 or used + price <= full then
    used = math.max(used + price, 0)
  else
    code = 1
    if L.count_denied then used = math.min(used + price, deepest) end
    wait = math.ceil((used + price - full) / per_ms)
  end
  local remaining, reset = 0, 0
  if used < full then remaining = math.floor((full - used) / per_hit) end
  if used > 0 then reset = math.ceil(used / per_ms) end
  return code, remaining, reset, wait, now + reset, (now_units + used) / per_ms, 0, 0
end

local function leaky_bucket(at, first, second, L, now, cost)
  local code, remaining, reset, wait, expires, dry_at = gcra(at, first, second, L, now, cost)
  local ahead = round(at * L.per_ms) - now * L.per_ms
  if code == 0 and cost > 0 and ahead > 0 then wait = math.ceil(ahead / L.per_ms) end
  return code, remaining, reset, wait, expires, dry_at, 0, 0
end
