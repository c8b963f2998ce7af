import type { ServerResponse } from 'node:http'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Route } from '../http/routes.ts'
import { write } from '../http/write.ts'

/** Answers 200 as long as the event loop of this process has turns. Nothing else is asked. */
export const LIVEZ: Route = {
  methods: ['GET', 'HEAD'],
  answer: (_, response) => answerText(response, 200, 'ok'),
}

/** Answers 200 while requests are wanted here, and 503 with the reason while they are not. '' is no reason. */
export function readyz(unready: () => MaybePromise<string>): Route {
  return {
    methods: ['GET', 'HEAD'],
    answer: async (_, response) => {
      const reason = await unready()
      if (reason === '') answerText(response, 200, 'ok')
      else answerText(response, 503, `not ready: ${reason}`)
    },
  }
}

function answerText(response: ServerResponse, status: number, text: string): void {
  response.setHeader('Cache-Control', 'no-store')
  write(response, status, 'text/plain; charset=utf-8', `${text}\n`)
}
