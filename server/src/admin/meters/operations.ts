import { ID } from '../../records/forms.ts'
import { RecordOperations } from '../api/record-operations.ts'

export const METER_PARAM = { meter_id: { schema: ID, doc: 'the id of the meter' } } as const

const METERS = new RecordOperations({ table: 'meters', tag: 'meters', path: '/meters', one: METER_PARAM })

export const METER_OPERATIONS = [
  METERS.list({ id: 'listMeters', summary: 'what is billed by quantity' }),
  METERS.read({ id: 'readMeter', summary: 'one meter' }),
  METERS.put({
    id: 'putMeter',
    summary: 'make or replace a meter; If-Match is needed once it is there',
    role: 'admin',
    form: 'MeterFields',
    errors: ['VERSION_STALE', 'VERSION_REQUIRED'],
    needsVersion: true,
    record: ({ params: { meter_id: id }, body }) => ({ id, unit: String(body.unit ?? id) }),
  }),
  METERS.remove({
    id: 'removeMeter',
    summary: 'remove a meter: nothing more is booked on it, and its entries stay',
    role: 'admin',
  }),
]
