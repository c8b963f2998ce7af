import { afterAll, beforeAll, describe } from 'vitest'
import { fuzzGateway, type Lab, startLabs } from './gateway-fuzzer.ts'
import { itSurvives } from './seeded.suite.ts'

let labs: Lab[] = []
beforeAll(async () => {
  labs = await startLabs()
})
afterAll(async () => {
  await Promise.all(labs.map((lab) => lab.stop()))
})

describe('hostile clients of the gateway', () => {
  itSurvives({
    list: new URL('./gateway-seeds.json', import.meta.url),
    test: 'tests/fuzz/gateway-fuzz',
    count: 60,
    fuzz: (seed) => fuzzGateway(seed, labs),
  })
})
