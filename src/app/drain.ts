import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * drainable returns how to stop a server without cutting anybody off: it stops listening, answers what is under way and
 * lets each connection end with its answer. Connections that never asked for anything, which Node.js would wait for, end
 * at once; whoever is not done after deadlineMs is cut off.
 */
export function drainable(server: Server, deadlineMs = 10_000): () => Promise<void> {
  const sockets = new Set<Socket>()
  const underWay = new Set<ServerResponse>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.prependListener('request', (_request, response: ServerResponse) => {
    if (!server.listening) endConnection(response)
    underWay.add(response)
    response.once('close', () => underWay.delete(response))
  })
  return () => {
    return new Promise((resolve) => {
      const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs)
      server.close(() => {
        clearTimeout(deadline)
        resolve()
      })
      for (const response of underWay) endConnection(response)
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    })
  }
}

/** endConnection tells the client that this answer is the last one on its connection. */
function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}
