// The package has no types: these cover the parts that bench/ uses.
declare module 'autocannon' {
  interface Request {
    method: string
    headers: Readonly<Record<string, string>>
    body?: string
    /** Called before each request; returns the request to send. */
    setupRequest?: (request: Request) => Request
  }

  /** Latencies are milliseconds, the duration is seconds. */
  export interface Result {
    readonly '2xx': number
    readonly non2xx: number
    readonly errors: number
    readonly timeouts: number
    readonly duration: number
    readonly latency: { readonly p50: number; readonly p99: number }
  }

  export default function autocannon(options: {
    url: string
    connections: number
    duration: number
    requests: readonly Request[]
  }): Promise<Result>
}
