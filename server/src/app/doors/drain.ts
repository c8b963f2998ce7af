import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

export interface DrainTimes {
  /** How long a connection that waits for its next request may go on waiting. */
  readonly idleMs: number
  /** When whoever is not done is cut off. */
  readonly deadlineMs: number
}

/**
 * Returns how to stop an HTTP server without a failed call: it stops listening, answers what is under way and what
 * still comes, and lets each connection end with its answer. Connections that wait for their next request are left open
 * for a while: a client that has just sent one cannot know that it would not be read (which is why the close() of
 * Node.js, which ends those at once, loses calls). Who is not done at the deadline is cut off.
 */
export function drainable(server: Server): (times: DrainTimes) => Promise<void> {
  const sockets = new Set<Socket>()
  const underWay = new Set<ServerResponse>()
  let isDraining = false
  let onEmpty = (): void => {}
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) onEmpty()
    })
  })
  server.prependListener('request', (_request, response: ServerResponse) => {
    if (isDraining) endConnection(response)
    underWay.add(response)
    response.once('close', () => underWay.delete(response))
  })
  return async ({ idleMs, deadlineMs }) => {
    isDraining = true
    for (const response of underWay) endConnection(response)
    // Not the server's own close, which would end the connections that wait.
    if (server.listening) NetServer.prototype.close.call(server)
    const idle = setTimeout(() => endIdle(server, sockets), Math.min(idleMs, deadlineMs))
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs)
    await new Promise<void>((resolve) => {
      onEmpty = resolve
      if (sockets.size === 0) resolve()
    })
    clearTimeout(idle)
    clearTimeout(deadline)
    // Ends the timer with which the server looks for slow requests.
    server.close()
  }
}

/** Ends connections without a request; Node.js does not count those that never had one. */
function endIdle(server: Server, sockets: ReadonlySet<Socket>): void {
  server.closeIdleConnections()
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
}

/** Tells the client that this answer is the last one on its connection. */
function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}
