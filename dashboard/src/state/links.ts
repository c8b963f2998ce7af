/** customerHref is the address of the page of a customer. */
export const customerHref = (id: string): string => `/customers/${encodeURIComponent(id)}`
