import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Route } from '../edge/http/routes.ts'
import { CONTENT_TYPES, formatMetrics, formatOf } from '../observe/metrics/exposition.ts'
import type { MergedMetrics } from '../observe/metrics/merge-reports.ts'

/** metricsRoute answers with all metrics, as Prometheus or OpenMetrics text, whichever is asked for. */
export function metricsRoute(metrics: () => MaybePromise<MergedMetrics>): Route {
  return {
    methods: ['GET', 'HEAD'],
    answer: async (request, response) => writeMetrics(request, response, await metrics()),
  }
}

/** writeMetrics writes piece by piece, and lets everything else have its turn between two. */
async function writeMetrics(request: IncomingMessage, response: ServerResponse, metrics: MergedMetrics): Promise<void> {
  const format = formatOf(request.headers.accept)
  response.writeHead(200, { 'Content-Type': CONTENT_TYPES[format], Vary: 'Accept' })
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  for (const text of formatMetrics(metrics, format)) {
    if (response.destroyed) return
    const isWritable = response.write(text)
    if (isWritable) await turn()
    else await drained(response)
  }
  response.end()
}

/** drained waits until a reader has caught up, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}
