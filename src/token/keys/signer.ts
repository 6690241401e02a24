// The seam between what is signed and where the private key is: a key object of this process, or a token elsewhere.

/** The JWS signature (RFC 7515 §5.1) of the signing input, in the form of the key's algorithm. */
export type Signer = (data: string) => Promise<Buffer>

/** Thrown when a key cannot sign at the moment: the caller answers 503. */
export class SigningUnavailable extends Error {
  override name = 'SigningUnavailable'
}

/** The keys of the configuration that are in tokens, by their id. */
export interface TokenKeys {
  /** SPKI PEM. Throws `SigningUnavailable`. */
  publicKeyOf(keyId: string): Promise<string>
  /** Opens the token in the background. Signs with the key of this public half only; throws `SigningUnavailable`. */
  signerOf(keyId: string, publicKey: string): Signer
  /** Ends the sessions. */
  close(): void
}
