import { afterAll, beforeAll, describe } from 'vitest'
import { Bench } from './bench.suite.ts'
import { customerFlows } from './customers.suite.ts'
import { explainFlows } from './explain.suite.ts'
import { liveFlows } from './live.suite.ts'
import { pageClaims } from './pages.suite.ts'
import { playgroundFlows } from './playground.suite.ts'
import { ruleFlows } from './rules.suite.ts'
import { sessionFlows } from './session.suite.ts'

// One service with Redis and PostgreSQL, and one browser, for all of them: starting those takes longer than most tests.
describe('the dashboard in a browser', () => {
  let bench: Bench
  beforeAll(async () => {
    bench = await Bench.start()
  })
  afterAll(() => bench?.stop())
  const theBench = (): Bench => bench

  describe('a session', () => sessionFlows(theBench))
  describe('live figures', () => liveFlows(theBench))
  describe('a customer', () => customerFlows(theBench))
  describe('rules', () => ruleFlows(theBench))
  describe('explain', () => explainFlows(theBench))
  describe('the playground', () => playgroundFlows(theBench))
  describe('every page', () => pageClaims(theBench))
})
