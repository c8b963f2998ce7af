import type { Server } from 'node:http'
import type { Door } from './door.ts'
import { drainable } from './drain.ts'
import { listen, portOf, reachable } from './listen.ts'

/** How long a connection may wait for its next request while its door drains. */
const IDLE_MS = 1_000

/** Wraps an HTTP server as a door. */
export function httpDoor(server: Server): Door {
  const drain = drainable(server)
  let isWatching = false
  return {
    listen: async (at) => {
      await listen(server, at)
      return reachable(portOf(server), at)
    },
    take: (socket) => {
      // Node.js starts to watch over connections when a server listens. Without that, slow clients are never cut off.
      if (!isWatching) server.emit('listening')
      isWatching = true
      // As the server's own connections have it: a client may end its side before it has the answer.
      socket.allowHalfOpen = true
      server.emit('connection', socket)
    },
    // Its connections are many and short-lived.
    shed: () => {},
    drain: (deadlineMs) => drain({ idleMs: IDLE_MS, deadlineMs }),
  }
}
