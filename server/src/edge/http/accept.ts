/** This many items of a list are read. Browsers send at most eight. */
const MAX_ITEMS = 32

/** Reads a list such as `br, gzip;q=0.8`: every name in lower case, and how much it is wanted, from 0 to 1. */
export function qualitiesOf(header: string | undefined): ReadonlyMap<string, number> {
  const wanted = new Map<string, number>()
  for (const item of (header ?? '').split(',', MAX_ITEMS)) {
    const [name, ...parameters] = item.split(';', MAX_ITEMS).map((part) => part.trim().toLowerCase())
    if (name !== '') wanted.set(name, qualityOf(parameters))
  }
  return wanted
}

const QUALITY = /^q\s?=\s?(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** A quality that is none counts as a refusal. */
function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q'))
  return given === undefined ? 1 : Number(QUALITY.exec(given)?.[1] ?? 0)
}

/** Returns whether a browser asks for a page: it names text/html. Programs that take anything do not. */
export function wantsHtml(accept: string | undefined): boolean {
  return (qualitiesOf(accept).get('text/html') ?? 0) > 0
}

/**
 * Returns the coding of `offered` that an Accept-Encoding prefers; of several, the first. `identity` is the answer for
 * clients that send nothing or accept none of these: an uncompressed page is better than none.
 */
export function preferred<Coding extends string>(
  acceptEncoding: string | undefined,
  offered: readonly Coding[],
): Coding | 'identity' {
  const wanted = qualitiesOf(acceptEncoding)
  let best: Coding | 'identity' = 'identity'
  let most = wanted.get('identity') ?? 0
  for (const coding of offered) {
    const quality = wanted.get(coding) ?? wanted.get('*') ?? 0
    if (quality > most || (quality === most && quality > 0 && best === 'identity')) {
      best = coding
      most = quality
    }
  }
  return best
}
