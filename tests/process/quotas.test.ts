import { describe, expect, it } from 'vitest'
import { block, grant, ofCustomer, ofKey, override } from '../../server/src/quotas/book/records.suite.ts'
import { until } from '../servers/until.mjs'
import { startQuotas } from './quota-service.suite.ts'

describe('two workers', () => {
  it('decide by the quotas from their first request on, and by every change', async () => {
    const { ask, change } = await startQuotas()
    expect([await ask(2_999, 4), await ask(0, 4)]).toEqual(['BBBB', '++--'])
    change('overrides', 'o', override('o', ofKey('k0'), 4, { unit: 'day' }))
    // The change is on its way to both: from when one of them has it, refusals do not come back for two requests.
    await until('the raise is in force', async () => (await ask(0, 1)) === '+')
    await until('the raise is used up', async () => (await ask(0, 4)) === '----')
    change('blocks', 'b1', block('b1', ofCustomer('c1')))
    await until('the block is in force in both', async () => (await ask(1, 6)) === 'BBBBBB')
    change('blocks', 'b1', undefined)
    await until('the block is gone from both', async () => !(await ask(1, 6)).includes('B'))
    change('grants', 'g', grant('g', 'c0', 3))
    let admitted = 0
    await until('the grant is used up', async () => {
      const text = await ask(0, 6)
      admitted += text.split('+').length - 1
      return admitted === 3 && text === '------'
    })
  })
})
