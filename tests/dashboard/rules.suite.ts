import { expect, it } from 'vitest'
import { until } from '../servers/until.mjs'
import type { Bench } from './bench.suite.ts'

export function ruleFlows(bench: () => Bench): void {
  it('are switched to shadow and back, and refuse nobody meanwhile', async () => {
    const refuses = async (): Promise<boolean> => {
      const statuses = new Set<number>()
      for (let i = 0; i < 3; i++) statuses.add(await bench().stand.check('edge', { ip: '192.0.2.7' }, 605))
      return statuses.has(429)
    }
    await until('the rule refuses', refuses)
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go('/rules')
      const modes = page.getByRole('group', { name: 'State of address' })
      const dialog = page.getByRole('dialog')
      await modes.getByRole('button', { name: 'Shadow' }).click()
      await dialog.getByLabel('Reason').fill('an office behind one address')
      await dialog.getByRole('button', { name: 'Switch to shadow' }).click()
      await dialog.waitFor({ state: 'detached' })
      await until('nobody is refused', async () => !(await refuses()))
      await page.getByText('an office behind one address').first().waitFor()
      await modes.getByRole('button', { name: 'Enforce' }).click()
      await dialog.getByRole('button', { name: 'Enforce' }).click()
      await dialog.waitFor({ state: 'detached' })
      await until('it refuses again', refuses)
    })
  })

  it('are edited with the errors of sluice check at their lines, put in force, and rolled back', async () => {
    const { key } = await bench().customer({ tier: null })
    await bench().visit(async (visit) => {
      const { page } = visit
      const before = (await bench().ask('GET', 'rules/active')) as { version: number; text: string }
      await visit.go('/rules/edit')
      const text = page.getByLabel('Rules as YAML')
      const changed = before.text.replace('requests_per_unit: 30 }', 'requests_per_unit: 31 }')
      const line = changed.split('\n').findIndex((each) => each.includes('requests_per_unit: 31 }')) + 1
      // A check of rules that are wrong is answered 422: browsers tell that to the console.
      visit.expectComplaints(/status of 422/)
      await text.fill(changed.replace(/unit: day(?=, requests_per_unit: 31 )/, 'unit: fortnight'))
      await page.getByRole('list', { name: 'Problems' }).getByText(`Line ${line}:`).waitFor()
      expect(await page.getByRole('button', { name: 'Put in force…' }).isDisabled()).toBe(true)
      await text.fill(changed)
      await page.getByText('These rules are right.').waitFor()
      await page.getByRole('button', { name: 'Put in force…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Put in force' }).click()
      await dialog.waitFor({ state: 'detached' })
      await until('the new limit is in force', async () => (await bench().limitOf(key)) === 31)

      await visit.go('/rules/versions')
      await page.getByRole('button', { name: `Roll back to version ${before.version}`, exact: true }).click()
      await dialog.getByRole('button', { name: 'Roll back', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      await until('the former limit is in force', async () => (await bench().limitOf(key)) === 30)
    })
  })
}
