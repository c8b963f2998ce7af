/** The umbrella package has all of the client's in it. It is not installed here. */
declare module 'redis' {
  export * from '@redis/client'
}
