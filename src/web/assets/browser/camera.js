import read from './jsqr.ts'
const sizeMax = 480
export async function scan(box             )                         {
const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } })
const video = document.createElement('video')
video.srcObject = stream
video.muted = true
video.playsInline = true
video.setAttribute('aria-label', 'Picture of the camera')
const stop = document.createElement('button')
stop.type = 'button'
stop.className = 'button'
stop.textContent = 'Stop the camera'
box.replaceChildren(video, stop)
box.hidden = false
const stopped = new AbortController()
stop.addEventListener('click', () => stopped.abort())
try {
await video.play()
const canvas = document.createElement('canvas')
const context = canvas.getContext('2d', { willReadFrequently: true })
if (context === null) return null
while (!stopped.signal.aborted) {
await new Promise((resolve) => requestAnimationFrame(resolve))
const { videoWidth, videoHeight } = video
if (videoWidth === 0) continue
const scale = Math.min(1, sizeMax / Math.max(videoWidth, videoHeight))
canvas.width = Math.round(videoWidth * scale)
canvas.height = Math.round(videoHeight * scale)
context.drawImage(video, 0, 0, canvas.width, canvas.height)
const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
const code = read(data, canvas.width, canvas.height, { inversionAttempts: 'dontInvert' })
if (code !== null && code.data !== '') return code.data
}
return null
} finally {
for (const track of stream.getTracks()) track.stop()
box.replaceChildren()
box.hidden = true
}
}
