/**
 * A service that stops leaves clients with an open connection a second for a request that may be on its way. fetch keeps its
 * connections, so every test that stops a service would wait for that second. Tests of the wait itself use sockets.
 */
const known = globalThis as typeof globalThis & { fetchThatKeeps?: typeof fetch }
// Files that share a worker load this one after the other.
known.fetchThatKeeps ??= globalThis.fetch
const keeping = known.fetchThatKeeps
globalThis.fetch = (input, init) => {
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
  headers.set('connection', 'close')
  return keeping(input, { ...init, headers })
}
