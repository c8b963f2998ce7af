import type { Request } from 'express'
import { warnProcess } from '../../core/warn-process.ts'

/** Warns about proxies that are all trusted, and about proxies that are not trusted at all. */
export function checkAddresses(request: Request): void {
  for (const mistake of [trustsEveryone(request), ignoresProxy(request)]) {
    if (mistake !== undefined) warnProcess(mistake)
  }
}

export function trustsEveryone({ app }: Request): string | undefined {
  if (app.get('trust proxy') !== true) return undefined
  return "'trust proxy' is true: every client can choose its own address, and so has no limit."
}

export function ignoresProxy({ app, headers }: Request): string | undefined {
  if (!headers['x-forwarded-for'] || app.get('trust proxy') !== false) return undefined
  return "there is an X-Forwarded-For, but 'trust proxy' is false: all clients of a proxy are counted as one."
}
