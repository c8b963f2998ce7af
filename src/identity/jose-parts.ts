// What is used of jose: a bundle need not have the rest.
export { createLocalJWKSet, createRemoteJWKSet, customFetch, jwtVerify } from 'jose'
