// Goes on when every application has ended its session (OpenID Connect Front-Channel Logout §2), or after three seconds.
const onward = document.getElementById('onward')
let isOver = false

function go() {
  if (isOver) return
  isOver = true
  if (onward.tagName === 'FORM') onward.submit()
  else location.replace(onward.href)
}

// `load` of the page waits for its frames.
addEventListener('load', go)
setTimeout(go, 3000)
