import { describe } from 'vitest'
import { itSurvives } from '../fuzz/seeded.suite.ts'
import { fuzzFrames } from './frame-fuzzer.ts'

describe('hostile frames', () => {
  itSurvives({
    list: new URL('./fuzz-seeds.json', import.meta.url),
    test: 'tests/grpc/frame-fuzz',
    count: 120,
    fuzz: (seed) => fuzzFrames(seed),
  })
})
