import { readMetrics } from './prometheus-text.ts'
import { type HotKeysAnswer, METRICS, type Sample } from './top-view.ts'

/** What hot keys are asked for. */
export interface Asked {
  readonly by: 'refused' | 'active'
  readonly minutes: 1 | 5 | 60 | 1440
  readonly scope: 'node' | 'fleet'
}

const TIMEOUT_MS = 3_000
const MAX_KEYS = '100'

/** Asks an admin port for all that is shown. */
export class AdminClient {
  readonly #base: URL
  readonly #headers: Record<string, string>

  constructor(admin: URL, token: string | undefined) {
    this.#base = admin
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  }

  /** Requests everything in parallel. Rejects with an error that describes why there is no answer. */
  async sample({ by, minutes, scope }: Asked): Promise<Sample> {
    const query = new URLSearchParams({ by, minutes: String(minutes), scope, limit: MAX_KEYS })
    const [stats, metrics, hotKeys] = await Promise.all([
      this.#get('stats?format=json'),
      this.#get('metrics'),
      this.#get(`admin/v1/hot-keys?${query}`),
    ])
    if (stats === undefined) throw new Error('this is not the admin port of Sluice: it has no /stats')
    return {
      atMs: Date.now(),
      stats: statsIn(parsed(stats)),
      metrics: metrics === undefined ? undefined : readMetrics(metrics, METRICS),
      hotKeys: hotKeys === undefined ? undefined : hotKeysIn(parsed(hotKeys)),
    }
  }

  /** Returns the text of a path, or undefined where there is none. */
  async #get(path: string): Promise<string | undefined> {
    // A token is for this address alone.
    const options = { headers: this.#headers, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) } as const
    const response = await fetch(new URL(path, this.#base), options).catch((error: unknown) => {
      throw new Error(`no answer: ${reasonOf(error)}`)
    })
    const text = await response.text()
    if (response.status === 404) return undefined
    if (response.status === 401 || response.status === 403)
      throw new Error(`answered ${response.status}: check --token`)
    if (!response.ok) throw new Error(`answered ${response.status} to /${path}`)
    return text
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('this is not the admin port of Sluice: the answer is not JSON')
  }
}

function statsIn(value: unknown): Readonly<Record<string, number>> {
  if (typeof value !== 'object' || value === null)
    throw new Error('this is not the admin port of Sluice: /stats is not an object')
  return Object.fromEntries(Object.entries(value).filter(([, count]) => typeof count === 'number'))
}

function hotKeysIn(value: unknown): HotKeysAnswer | undefined {
  const { rules, keys } = (value ?? {}) as Partial<HotKeysAnswer>
  return Array.isArray(rules) && Array.isArray(keys) ? (value as HotKeysAnswer) : undefined
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  const { code, message: why } = (cause ?? {}) as { code?: string; message?: string }
  return code ?? why ?? message
}
