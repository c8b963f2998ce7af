import type { ServerResponse } from 'node:http'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Route } from '../http/routes.ts'
import { write } from '../http/write.ts'
import type { NodeHealth } from './health.ts'

/** Answers 200 as long as the event loop of this process has turns. Nothing else is asked. */
export const LIVEZ: Route = {
  methods: ['GET', 'HEAD'],
  answer: (_, response) => answerText(response, 200, 'ok'),
}

/** Answers 200 while requests are wanted here, and says what is missing; 503 with the reason while they are not. */
export function readyz(health: () => MaybePromise<NodeHealth>): Route {
  return {
    methods: ['GET', 'HEAD'],
    answer: async (_, response) => {
      const { unready, degraded } = await health()
      if (unready !== '') answerText(response, 503, `not ready: ${unready}`)
      else answerText(response, 200, degraded === '' ? 'ok' : `degraded: ${degraded}`)
    },
  }
}

function answerText(response: ServerResponse, status: number, text: string): void {
  response.setHeader('Cache-Control', 'no-store')
  write(response, status, 'text/plain; charset=utf-8', `${text}\n`)
}
