/** The version of this package. */
export const version = '0.1.0'

/** Names this SDK and its version to the servers it calls. */
export const userAgent = `sluice-client/${version}`
