import { expect, test } from 'vitest'
import type { RuleActivity } from '../../api/operations.ts'
import { activitiesOf } from './activity.ts'

const USER: RuleActivity = {
  domain: 'api',
  id: 'user',
  is_shadow: false,
  last_minute: { allowed: 500, refused: 90, shadow_refused: 10 },
  last_hour: { allowed: 9_000, refused: 200, shadow_refused: 30 },
}

test('the rate is of the last minute, with all that was asked', () => {
  expect(activitiesOf([USER], 'hour').get('api/user')?.perSecond).toBe(10)
})

test('refusals are of the while that is looked at', () => {
  expect(activitiesOf([USER], 'minute').get('api/user')).toMatchObject({ refused: 90, shadowRefused: 10 })
  expect(activitiesOf([USER], 'hour').get('api/user')).toMatchObject({ refused: 200, shadowRefused: 30 })
})

test('a rule without requests has no activity', () => {
  expect(activitiesOf([], 'hour').get('api/user')).toBeUndefined()
})
