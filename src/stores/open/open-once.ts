import { ClaimedNames } from './claimed-names.ts'
import type { AppRedisOptions, OpenStore, StoreEvents } from './opened-store.ts'
import { StoreWatch } from './store-watch.ts'

interface SharedStore {
  readonly open: OpenStore
  readonly names: ClaimedNames
  readonly watch: StoreWatch
  users: number
}

/** Where counters live, for limits that share it. */
interface SharedPlace {
  /** The address, or the client of the app. */
  readonly at: unknown
  /** What has to be the same for a store to be shared, as plain data. */
  readonly options: object
  /** What people call it, as in `on one Redis`. */
  readonly name: string
}

interface Hearers {
  readonly log: (line: string) => void
  readonly observer: AppRedisOptions['observer']
}

/** Limits of one process at one place with the same options share a store, and so its connection and batches. */
const shared = new Map<unknown, Map<string, SharedStore>>()

/** Opens a place, or shares one that is open with the same options. The last user to let go closes it. */
export function openOnce(
  { at, options, name }: SharedPlace,
  { log, observer }: Hearers,
  open: (events: StoreEvents) => OpenStore,
): OpenStore {
  const key = JSON.stringify(options)
  const byKey = shared.get(at) ?? new Map<string, SharedStore>()
  const entry = byKey.get(key) ?? openEntry(open, log)
  shared.set(at, byKey.set(key, entry))
  entry.users++
  const unwatch = entry.watch.add(observer)
  const claims: (() => void)[] = []
  const claim = (domain: string, encoded: string): string => {
    const { number, release } = entry.names.claim(`${domain} ${encoded}`)
    claims.push(release)
    if (number === 2) log(alike(encoded, name))
    return number === 1 ? domain : `${domain}#${number}`
  }
  let isOpen = true
  const close = async (): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    unwatch()
    for (const release of claims) release()
    if (--entry.users > 0) return
    byKey.delete(key)
    if (byKey.size === 0) shared.delete(at)
    await entry.open.close()
  }
  return { ...entry.open, claim, close }
}

function openEntry(open: (events: StoreEvents) => OpenStore, log: (line: string) => void): SharedStore {
  const watch = new StoreWatch()
  return { open: open({ ...loggedOnce(log), ...watch.events }), names: new ClaimedNames(), watch, users: 0 }
}

function alike(encoded: string, name: string): string {
  return `several limits "${encoded}" on one ${name} have no name: each counts separately, in the order of creation. Give each a name`
}

/** Logs an outage once, not at every attempt to end it. */
function loggedOnce(log: (line: string) => void) {
  const away = new Set<string>()
  return {
    connected: (shard: string) => void away.delete(shard),
    disconnected: (shard: string, reason: string) => {
      if (!away.has(shard)) log(`no connection to ${shard}: ${reason}; limits follow onStoreFailure until there is one`)
      away.add(shard)
    },
    warned: log,
  }
}
