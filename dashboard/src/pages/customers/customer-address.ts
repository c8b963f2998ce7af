export const customerAddress = (id: string): string => `/customers/${encodeURIComponent(id)}`
