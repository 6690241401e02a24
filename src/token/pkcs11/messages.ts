import type { TokenLocation } from './module.ts'

/** The first message to the process of a session. */
export interface OpenRequest {
  readonly location: TokenLocation
  readonly mechanism: { readonly type: number; readonly parameter: readonly number[] }
}

/** Its answer; after a failure the process ends. */
export type OpenAnswer = { readonly publicKey: string } | { readonly failure: string; readonly isPinRefused: boolean }

/** Further messages: inputs to sign, answered in order. */
export type SignRequest = Uint8Array

/** The signature. */
export type SignAnswer = Uint8Array | { readonly failure: string }
