import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'

/** The parameters of a session management frame. */
export interface SessionFrameProps {
  /** Which of the three dialects its script uses. */
  readonly frame: 'session' | 'session_management' | 'check_session'
  readonly script: string
  /** The name of the cookie that shows which user is signed in. */
  readonly cookie: string
  /** Client and origin that it responds to; absent if the message contains them. */
  readonly parent?: { readonly clientId: string; readonly messageOrigin: string } | undefined
}

/** An invisible document for a hidden frame: fields for its script, and the script. */
export function sessionFrame({ frame, script, cookie, parent }: SessionFrameProps): Html {
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Session</title></head>
<body>
<input type="hidden" id="frame" value="${frame}">
<input type="hidden" id="cookie" value="${cookie}">
${
  parent &&
  html`<input type="hidden" id="clientId" value="${parent.clientId}">
<input type="hidden" id="messageOrigin" value="${parent.messageOrigin}">
`
}<script src="${script}"></script>
</body>
</html>
`
}
