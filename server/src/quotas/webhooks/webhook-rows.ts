import { deliveries, endpoints } from '../../admin/webhooks/table.ts'
import { selectList } from '../records/record-sql.ts'

/** A row of an endpoint, with its sealed secrets. */
export type EndpointRow = Readonly<Record<string, unknown>> & { readonly secret: string; readonly version: number }
export type DeliveryRow = Readonly<Record<string, unknown>>

export const ENDPOINT_COLUMNS = `${selectList(endpoints)}, secret`
export const DELIVERY_COLUMNS = selectList(deliveries)

export const { toRecord: endpointOf } = endpoints
export const { toRecord: deliveryOf } = deliveries
