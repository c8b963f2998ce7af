import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

export interface DrainTimes {
  /** How long a connection that waits for its next request may stay open. */
  readonly idleMs: number
  /** When connections that are still busy are cut off. */
  readonly deadlineMs: number
}

/**
 * Returns how to stop an HTTP server without a failed call: it stops listening, answers requests in flight and requests
 * that still arrive, and closes each connection with its answer. Idle connections stay open for a while: a client that
 * has just sent a request cannot know that it would not be read. (close() of Node.js ends idle connections immediately,
 * and so loses calls.) Whatever is open at the deadline is cut off.
 */
export function drainable(server: Server): (times: DrainTimes) => Promise<void> {
  const sockets = new Set<Socket>()
  const inFlight = new Set<ServerResponse>()
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
    inFlight.add(response)
    response.once('close', () => inFlight.delete(response))
  })
  return async ({ idleMs, deadlineMs }) => {
    isDraining = true
    for (const response of inFlight) endConnection(response)
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

/** Ends connections without a request; Node.js does not count connections that never had one. */
function endIdle(server: Server, sockets: ReadonlySet<Socket>): void {
  server.closeIdleConnections()
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
}

/** Announces to the client that this answer is the last one on its connection. */
function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}
