// Generates load with autocannon, in its own process, where wrk is not installed.
// Usage: node bench/autocannon-job.ts FILE  (the job, JSON)
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'
import type { HttpRequest } from './requests.ts'

const job: { request: HttpRequest; seconds: number; connections: number } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
)
const { url, method, headers, body, bodies } = job.request
const result = await autocannon({
  url,
  connections: job.connections,
  duration: job.seconds,
  requests: [
    {
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(bodies && {
        setupRequest: request => ({ ...request, body: bodies[Math.floor(Math.random() * bodies.length)] ?? '' }),
      }),
    },
  ],
})
process.stdout.write(JSON.stringify(result))
