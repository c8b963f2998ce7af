/** RFC 7541, Appendix A: a name, or a name and a value after a space, for each index from 1. */
const STATIC_ENTRIES = [
  ':authority',
  ':method GET',
  ':method POST',
  ':path /',
  ':path /index.html',
  ':scheme http',
  ':scheme https',
  ':status 200',
  ':status 204',
  ':status 206',
  ':status 304',
  ':status 400',
  ':status 404',
  ':status 500',
  'accept-charset',
  'accept-encoding gzip, deflate',
  'accept-language',
  'accept-ranges',
  'accept',
  'access-control-allow-origin',
  'age',
  'allow',
  'authorization',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'etag',
  'expect',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'link',
  'location',
  'max-forwards',
  'proxy-authenticate',
  'proxy-authorization',
  'range',
  'referer',
  'refresh',
  'retry-after',
  'server',
  'set-cookie',
  'strict-transport-security',
  'transfer-encoding',
  'user-agent',
  'vary',
  'via',
  'www-authenticate',
]

const split = (entry: string): readonly [string, string] => {
  const space = entry.indexOf(' ')
  return space < 0 ? [entry, ''] : [entry.slice(0, space), entry.slice(space + 1)]
}

/** STATIC_NAMES and STATIC_VALUES are read by index; index 0 stands for nothing. */
export const STATIC_NAMES: readonly string[] = ['', ...STATIC_ENTRIES.map((entry) => split(entry)[0])]
export const STATIC_VALUES: readonly string[] = ['', ...STATIC_ENTRIES.map((entry) => split(entry)[1])]
/** The last static index; the dynamic table follows (RFC 7541, 2.3.3). */
export const STATIC_LAST = 61

const firstByName = new Map<string, number>()
for (let index = STATIC_LAST; index > 0; index--) firstByName.set(STATIC_NAMES[index], index)

/** Returns the first static index with this name, or 0. */
export const staticName = (name: string): number => firstByName.get(name) ?? 0

/** Returns the static index with the name of index `first` and this value, or 0. Equal names are neighbours. */
export function staticField(first: number, value: string): number {
  const name = STATIC_NAMES[first]
  for (let index = first; index > 0 && STATIC_NAMES[index] === name; index++) {
    if (STATIC_VALUES[index] === value) return index
  }
  return 0
}
