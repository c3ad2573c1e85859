"""What search engines are asked and told over HTTP, and how their answers become one picture."""
