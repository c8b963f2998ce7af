export { SluiceError } from '../../core/errors.ts'
export { SluiceStorage, type StorageOptions, type ThrottlerStorageRecord } from './storage.ts'
export { SluiceThrottlerGuard } from './throttler-guard.ts'
