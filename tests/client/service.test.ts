import { expect, it } from 'vitest'
import { createFetch, RateLimitError } from '../../client/src/index.ts'
import { callOf, PER_SECOND, startApi } from './service.suite.ts'

it('a paced fetch has all calls answered by a service, more than it admits in a second', async () => {
  const url = `${await startApi()}/v1/check`
  const paced = createFetch({ retryMethods: ['POST'] })
  const responses = await Promise.all(
    Array.from({ length: PER_SECOND + PER_SECOND / 2 }, () => paced(url, callOf('alice'))),
  )
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
  expect(paced.counts()).toMatchObject({ waiting: 0, gaveUp: 0 })
})

it('a paced fetch says when to retry, where its caller does not want to wait', async () => {
  const url = `${await startApi()}/v1/check`
  const paced = createFetch({ retries: 0, throwOnGiveUp: true })
  const spend = {
    ...callOf('alice'),
    body: JSON.stringify({ ...JSON.parse(String(callOf('alice').body)), cost: PER_SECOND + 1 }),
  }
  const error = await paced(url, spend).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(RateLimitError)
  expect(error).toMatchObject({ reason: 'refused' })
})
