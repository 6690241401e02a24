import { tooManyAttempts } from '../../pages/texts/texts.ts'

/** Thrown for an attempt over the limit; answered with 429 and `Retry-After`. */
export class TooManyRequests extends Error {
  override name = 'TooManyRequests'
  readonly retryAfterSeconds: number
  constructor(retryAfterSeconds: number) {
    super(tooManyAttempts(retryAfterSeconds))
    this.retryAfterSeconds = retryAfterSeconds
  }
}
