/**
 * Each case is a family of rules that can be as many as one likes: the first ten are the small set, all of them the
 * large one. Both end with a rule for any value, so that every descriptor of the case meets a limit in both.
 *
 *   descriptors(count)  the first `count` rules
 *   entries(i, j)       a descriptor that the i-th rule matches, the j-th of its kind
 */
export const cases = {
  'exact value': flat(
    'path',
    (i) => ({ value: `/v1/resources/${id(i)}` }),
    (i) => `/v1/resources/${id(i)}`,
  ),
  'wildcard, prefix': flat(
    'path',
    (i) => ({ value: `/v1/team-${id(i)}/*` }),
    (i, j) => `/v1/team-${id(i)}/items/${j}`,
  ),
  'wildcard, suffix': flat(
    'host',
    (i) => ({ value: `*.tenant-${id(i)}.example.com` }),
    (i, j) => `shop-${j}.tenant-${id(i)}.example.com`,
  ),
  'wildcard, infix': flat(
    'path',
    (i) => ({ value: `*/team-${id(i)}/*` }),
    (i, j) => `/v${j}/team-${id(i)}/items/${j}`,
  ),
  'wildcard, shared start': flat(
    'path',
    (i) => ({ value: `/v1/*/team-${id(i)}/*` }),
    (i, j) => `/v1/eu-${j}/team-${id(i)}/items/${j}`,
  ),
  'address block, IPv4': blocks(ipv4),
  'address block, IPv4 and IPv6': blocks((i) => (i % 2 === 0 ? ipv4(i) : ipv6(i))),
  'depth 1': nested(1),
  'depth 2': nested(2),
  'depth 3': nested(3),
  'depth 4': nested(4),
}

const limit = { unit: 'hour', requests_per_unit: 4_000_000_000 }

/** A number that looks like one of a database: different for each i, of one to six digits. */
const id = (i) => (i * 610_639 + 77_003) % 999_983

function flat(key, pattern, value) {
  return {
    descriptors: (count) => [
      ...Array.from({ length: count }, (_, i) => ({ key, ...pattern(i), rate_limit: limit })),
      { key, rate_limit: limit },
    ],
    entries: (i, j) => [{ key, value: value(i, j) }],
  }
}

function blocks(block) {
  return flat(
    'ip',
    (i) => ({ cidr: block(i).cidr }),
    (i, j) => block(i).address(j),
  )
}

/** A hash: the same numbers in every run, and different ones for each i. */
function mix(i, salt) {
  let x = Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(salt, 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b)
  return (x ^ (x >>> 16)) >>> 0
}

/** Makes blocks of 17 to 32 bits. A unique number in the first 17 bits keeps any two of them apart. */
function ipv4(i) {
  const prefix = 17 + (mix(i, 1) % 16)
  const base = ((i & 0x1ffff) << 15) | (mix(i, 2) & 0x7fff)
  const mask = prefix === 32 ? -1 : ~(0xffffffff >>> prefix)
  const format = (word) => [24, 16, 8, 0].map((shift) => (word >>> shift) & 0xff).join('.')
  return {
    cidr: `${format(base & mask)}/${prefix}`,
    address: (j) => format((base & mask) | (mix(j, 3) & ~mask)),
  }
}

/** Makes blocks of 40 to 64 bits, and single addresses. */
function ipv6(i) {
  const prefix = i % 5 === 0 ? 128 : 40 + (mix(i, 4) % 25)
  const words = [0x2001_0000 | (i >>> 8), (i << 24) | (mix(i, 5) & 0xffffff), mix(i, 6), mix(i, 7)]
  const masks = [0, 32, 64, 96].map((from) => {
    const bits = Math.max(0, Math.min(32, prefix - from))
    return bits === 32 ? -1 : ~(0xffffffff >>> bits)
  })
  const base = words.map((word, k) => word & masks[k])
  const format = (each) => each.map((word) => `${hex(word >>> 16)}:${hex(word & 0xffff)}`).join(':')
  const hex = (group) => group.toString(16)
  return {
    cidr: `${format(base)}/${prefix}`,
    address: (j) => format(base.map((word, k) => word | (mix(j, 8 + k) & ~masks[k]))),
  }
}

/** Makes a tree of this depth that is as wide on the upper levels as on the lower ones. */
function nested(depth) {
  const keys = ['region', 'tenant', 'user', 'endpoint'].slice(4 - depth)
  const width = (count) => Math.ceil(count ** (1 / depth))
  const WIDTH = width(100_000)
  const path = (i) => keys.map((_, level) => id(Math.floor(i / WIDTH ** (depth - 1 - level)) % WIDTH))
  const level = (tree, rest) => [
    ...[...tree].map(([value, below]) => ({
      key: rest[0],
      value,
      ...(rest.length === 1 ? { rate_limit: limit } : { descriptors: level(below, rest.slice(1)) }),
    })),
    { key: rest[0], ...anyBelow(rest) },
  ]
  const anyBelow = (rest) =>
    rest.length === 1 ? { rate_limit: limit } : { descriptors: [{ key: rest[1], ...anyBelow(rest.slice(1)) }] }
  return {
    descriptors: (count) => {
      const tree = new Map()
      for (let i = 0; i < count; i++) {
        let at = tree
        for (const value of path(i)) {
          if (!at.has(`v-${value}`)) at.set(`v-${value}`, new Map())
          at = at.get(`v-${value}`)
        }
      }
      return level(tree, keys)
    },
    entries: (i) => path(i).map((value, k) => ({ key: keys[k], value: `v-${value}` })),
  }
}
