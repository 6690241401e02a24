// Explains a token, a refusal or a planned request.
import type { AddressedZone } from '../../model/request.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { explainDeps } from './deps.ts'
import type { ExplainDeps, ExplainServices } from './deps.ts'
import type { Explanation } from './explanation.ts'
import { explainPlanned } from './planned.ts'
import { explainToken } from './presented-token.ts'
import { readQuestion } from './question.ts'
import type { Question } from './question.ts'
import { explainRecorded } from './recorded-refusal.ts'
import type { ExplainRoute } from './routes.ts'

/** Answers `POST /explain`. */
export function explainHandler(on: On<ExplainRoute>, services: ExplainServices): void {
  const deps = explainDeps(services)
  on('POST /explain', async (request, reply) => {
    const question = readQuestion(jsonBody(request))
    const { zone } = request
    return sendJson(reply.header('cache-control', 'no-store'), await explain(zone, question, deps))
  })
}

/** The answer to any question. */
export function explain(zone: AddressedZone, question: Question, deps: ExplainDeps): Promise<Explanation> {
  switch (question.kind) {
    case 'planned':
      return explainPlanned(zone, question.planned, deps)
    case 'token':
      return explainToken(zone, question.token, deps)
    case 'refusal':
      return explainRecorded(zone, question, deps)
  }
}
