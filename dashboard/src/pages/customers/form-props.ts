import type { Customer } from '../../api/operations.ts'
import type { CustomerData } from './use-customer.ts'

/** FormProps are what every form about a customer is given. */
export interface FormProps {
  readonly customer: Customer
  readonly data: CustomerData
  readonly onClose: () => void
  /** Something was changed, or changed back: what is shown is read again. */
  readonly onDone: () => void
}
