import { ID } from '../../records/forms.ts'

/** CUSTOMER_PARAM is the parameter of every path below a customer. */
export const CUSTOMER_PARAM = { customer_id: { schema: ID, doc: "the customer's id" } } as const
